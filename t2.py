import sys; sys.path.insert(0,'/tmp/ca')
import dateparser
from tasks.evaluations.culturall import matching as m
for t,l in [("2月10日","zh"),("2024年2月10日","zh"),("15 августа","ru"),("15.08","ru"),("10/02","es"),("15. август","sr"),("15 тамыз","kk"),("15 жніўня","be"),("ngày 15 tháng 8","vi"),("15 Ogos","ms"),("8월 15일","ko"),("15 أغسطس","ar"),("১৫ আগস্ট","bn"),("15 សីហា","km")]:
    print(t,l,m._date(t,l), dateparser.parse(t,languages=[l] if l!="km" else ["en"]))
