import sys; sys.path.insert(0,'/tmp/ca')
from tasks.evaluations.culturall.matching import *
for a,g,l in [("24元","24","zh"),("24","24元","zh"),("25","24元","zh"),("24 yuan","24元","zh"),("二月十日","2月10日","zh"),("2月10日","2024年2月10日","zh"),("10 de febrero","10/02","es"),("১০ টাকা","10 টাকা","bn"),("1,00,000","100000","en"),("1.000 dong","1000 dong","vi"),("1.5","1,5","ru"),("The mother-in-law.","mother in law","en"),("٣","3","ar"),("ជំរាបសួរ","ជំរាបសួរ","km"),("15 августа","15.08","ru"),("May 5","5 May","en"),("May 6","5 May","en"),("10:30","10.30","ru")]:
    print(a,g,is_match(a,[g],l))
q="Which? A. tea B. coffee C. cocoa D. water"
for a in ["B","b","(B)","B. coffee","coffee","The answer is C","A or B","А","none",""]: print(repr(a),chosen_letter(a,q))
print(options(q), options("哪个？A、茶 B、咖啡 C、可可 D、水"), numbers("1.000.000 and 1 000 or 3,14"))
